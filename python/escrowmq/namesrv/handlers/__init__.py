"""What the name server does for each request, by what the request is about."""
