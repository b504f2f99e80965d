locals {
  a = 1
}

/* This was to be a note.

locals {
  b = 2
}
