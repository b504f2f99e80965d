resource "x" "y" {
  a = "${var.a}"
  b = "${var.a == 1 ? "x" : "y"}"
  c = "${
    var.a
  }"
  d = "${
    var.a ?
    1 :
    2
  }"
  e = ["${var.a}"]
  f = { g = "${var.a}" }
  h = "${(
    var.a
  )}"
  i = "${f(
    a,
    b
  )}"
  j = ("${var.a}")
  k = "${var.a}" # comment
  l = /* c */ "${var.a}"
  l2 = "${var.a}" /* c */
  l3 = /* b */ /* c */ "${var.a}" /* d */ // e
  m = "${"a"}"
  n = "${/* c */ x}"
  block { o = "${x}" }
}
p = "${top}"
