"""What the daemon relies on in a Data Plane API, checked on the double and on a real one alike."""
