"""The fields of each request, one request per file. All of them travel as strings; here they have their types."""
