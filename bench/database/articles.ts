/** The table of the workload with full text: twelve of 50,000 words in each row, so that about 24 rows have a word. */

export const ARTICLES = 100_000
export const WORDS = 50_000

export const wordOf = (number: number): string => `word${number}`

/** The words of a row, by numbers that do not repeat with the rows. */
const words = (from: number, to: number): string => {
  const calls = Array.from({ length: to - from }, (_, index) => `'word', crc32(concat(seq, '-', ${from + index})) mod ${WORDS}`)
  return `concat(${calls.join(", ' ', ")})`
}

export const createArticles: readonly string[] = [
  `create table articles (id int not null primary key, title varchar(100) not null, body text not null, status varchar(12) not null, published_at datetime not null)
    engine=InnoDB default charset=utf8mb4`,
  `insert into articles select seq, ${words(0, 3)}, ${words(3, 12)}, elt(seq mod 3 + 1, 'draft', 'public', 'old'), timestamp('2026-01-01') + interval seq * 61 second from seq_1_to_${ARTICLES}`,
  'create fulltext index words on articles (title, body)',
  'analyze table articles'
]

/** An article as every contender returns it: times may have an offset, a space or a T. */
export const normalizeArticle = ({ id, title, body, status, published_at: publishedAt }: Readonly<Record<string, unknown>>) =>
  ({ id: Number(id), title: String(title), body: String(body), status: String(status), published_at: String(publishedAt).replace('T', ' ').slice(0, 19) })
