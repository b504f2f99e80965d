"""The nouns of kplan: frozen values without I/O."""
