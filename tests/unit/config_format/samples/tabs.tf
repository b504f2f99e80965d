locals {
	a	=	1	# x
		bb =	2		# y
	c = [	1,	2	]
	d = {
		e	= 1
	}
}
