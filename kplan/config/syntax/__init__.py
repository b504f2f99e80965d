"""From HCL text to kplan's own syntax tree."""
