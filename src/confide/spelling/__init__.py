"""One request, several spellings: JSON, URL, command-line words, Python, R, curl. For each, `read(write(request)) == request`."""
