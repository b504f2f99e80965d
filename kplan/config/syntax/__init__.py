"""From HCL text to kplan's own syntax tree.

`parse.parse_file` takes a file item by item (an item is one top-level block or attribute):

1. `block_pattern`: an item that is alike an earlier one gets its tree from that one's pattern.
2. `scanner` (with `template`): finds where the item ends; overwrites strings, comments
   and templates, which python-hcl2 8.1.4 reads wrongly, by text of equal length.
3. `grammar`: python-hcl2 parses the rewritten text. No other module knows it.
4. `lowering`: its parse tree becomes the `tree`, with places.
5. `syntax_error`: what is not HCL is reported, and what else is wrong with the same item.

`json_reader` does the same for `.tf.json`; `source` turns offsets into lines and columns;
`tree_walk` goes over finished trees.
"""
