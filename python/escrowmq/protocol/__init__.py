"""What requests and answers mean: codes, fields, bodies. Values in, values out; frames and sockets are rust's."""
