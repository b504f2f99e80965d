"""For spark-submit: `spark-submit submit.py VERB ...` does what `kplan fleet VERB ...` does."""

from kplan.fleet.__main__ import main

main()
