"""Letter Carroll: the words of *Jabberwocky* (Lewis Carroll, 1871, public domain)."""

from bagwise.datasets._letters import load_poem
from bagwise.datasets._types import Dataset

DESCRIPTION = "words of Jabberwocky, letters drawn from UCI Letter"

POEM = """
'Twas brillig, and the slithy toves
Did gyre and gimble in the wabe;
All mimsy were the borogoves,
And the mome raths outgrabe.

"Beware the Jabberwock, my son!
The jaws that bite, the claws that catch!
Beware the Jubjub bird, and shun
The frumious Bandersnatch!"

He took his vorpal sword in hand:
Long time the manxome foe he sought--
So rested he by the Tumtum tree,
And stood awhile in thought.

And as in uffish thought he stood,
The Jabberwock, with eyes of flame,
Came whiffling through the tulgey wood,
And burbled as it came!

One, two! One, two! And through and through
The vorpal blade went snicker-snack!
He left it dead, and with its head
He went galumphing back.

"And has thou slain the Jabberwock?
Come to my arms, my beamish boy!
O frabjous day! Callooh! Callay!"
He chortled in his joy.

'Twas brillig, and the slithy toves
Did gyre and gimble in the wabe;
All mimsy were the borogoves,
And the mome raths outgrabe.
"""


def load(random_state: int = 0) -> Dataset:
    """Load the data set with letters drawn by the seed."""
    return load_poem("carroll", POEM, random_state)
