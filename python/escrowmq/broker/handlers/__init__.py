"""What the broker does for each request, by what the request is about. Remarks are RocketMQ's."""
