"""The field's own files: one module a format, a reader and a writer each."""
