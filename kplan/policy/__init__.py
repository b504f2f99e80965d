"""A plan to diagnostics: rules, access analysis, risk."""
