a = x
b = "%{~if x~}y%{~endif~}"
c = <<EOT
${~x~}
%{~if y~}
%{~endif~}
EOT
