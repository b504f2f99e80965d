# hash
// slashes
/* block */
/*
 * long
   block
*/
locals { # opening
  # inside
  a               = 1 /* trailing */
  /* leading */ b = 2
  c               = /* middle */ 3
  // last
} # closing
