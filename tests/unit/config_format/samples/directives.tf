locals {
  a="%{ if x }a%{ endif }"
  b="%{if x}a%{else}b%{endif}"
  c="%{ for x in y ~} ${x} %{~ endfor }"
  d="%{ if x == 1 && y }a%{ endif }"
}
