"""Classes while people answer: changing them, class files, and pictures and sounds as examples of them."""
