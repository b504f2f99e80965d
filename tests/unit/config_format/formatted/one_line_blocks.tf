a {}
b {}
c { x = 1 }
d "e" { x = 1 }
lifecycle { prevent_destroy = true }
