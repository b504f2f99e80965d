


locals {


  a = 1



  b = 2


}



output "x" {
  value = 1
}


