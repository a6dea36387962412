"""A cluster in memory for tests of `nemesis`. Its nodes interpret rules packet by packet, as nft does.

A rule that is wrong, or a peer that was forgotten, therefore changes the answer of a probe between two nodes. May
import `nemesis`, and nothing else of the project.
"""
