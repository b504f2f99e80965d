"""Tests of a configuration: `*.kptest.hcl` files, and the scope of their runs and assertions."""
