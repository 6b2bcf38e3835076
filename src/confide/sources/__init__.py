"""Where microdata come from: files of many formats and data frames, their columns as codes and as numbers."""
