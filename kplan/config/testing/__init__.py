"""Tests of a configuration: `*.kptest.hcl` files, and what their runs and assertions see."""
