locals {
  chosen = local.v1.0 ?
    1 :
    2
}

locals {
  sum = 1 + # and what?
    2
}

locals {
  name = local.
}

locals {
  v1 = [true]
}

locals {
  object = {
    key
    = 1
  }
}

locals {
  curly = “text”
}
