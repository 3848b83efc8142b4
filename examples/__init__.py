"""Small services that show how EscrowMQ is used."""
