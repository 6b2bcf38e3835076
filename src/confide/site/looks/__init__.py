"""How the pages of a site look: its name, colours and logo."""
