"""One request, several spellings: JSON, URL, command-line words, Python. For each, `read(write(request)) == request`."""
