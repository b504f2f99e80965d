"""HCL policies: what they are asked, what they refuse, and what becomes of the rest."""
