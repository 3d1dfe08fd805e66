"""Collections: the nouns of a lab, each with its verbs, its iteration and its look-up by id."""
