/**
 * Collations in whose ORDER BY the servers put texts elsewhere than `>` and `=` do, so that a condition on a position leaves
 * out rows or returns them again: their sort keys treat contractions, ignored characters or missing weights otherwise than
 * their comparison, as `a` and `a` with U+007F in latin7_general_ci. The list is what MySQL 9.7 or MariaDB 10.11 have;
 * test/types/collations.test.ts compares it with all collations of a server.
 */
const UNORDERED = new Set([
  'big5_chinese_ci', 'cp1250_czech_cs', 'euckr_korean_ci', 'gb18030_chinese_ci', 'latin7_estonian_cs', 'latin7_general_ci',
  'latin7_general_cs', 'tis620_thai_ci'
])
/**
 * NO PAD collations of MariaDB. It pads their sort keys with zeros, so that a text and the same text with U+0000 behind it
 * are equal in an order.
 */
const ZERO_PADDED = /_nopad_/
/** Those by the Unicode Collation Algorithm, which ignores U+0000, except the tailoring for Persian. */
const BY_UCA = /_(?:unicode|unicode_520|uca1400(?!_persian)\w*)_nopad_/

/** Whether the server sorts the texts of a collation as it compares them. */
export const keepsOrder = (collation: string): boolean =>
  !UNORDERED.has(collation) && (!ZERO_PADDED.test(collation) || BY_UCA.test(collation))
