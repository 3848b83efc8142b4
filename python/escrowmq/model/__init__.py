"""Values that several rooms speak of: topics, routes, versions. No I/O, no clock, no protocol."""
