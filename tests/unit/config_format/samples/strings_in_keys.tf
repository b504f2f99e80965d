a={
"x"=1
"y.z"=2
"long key here"=3
}
tags={"a"="b","c"="d"}
