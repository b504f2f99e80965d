"""Values and types of the configuration language, with conversion, unification and equality."""
