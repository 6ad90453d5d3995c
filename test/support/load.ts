/** Imports over HTTP. */
import type { Readable } from 'node:stream'
import { type Answer, type EngineName, type Service, TOKEN } from './service.ts'

export const CSV = 'text/csv'
export const NDJSON = 'application/x-ndjson'

export interface LoadOptions { query?: string, type?: string, token?: string, headers?: Record<string, string> }

/** Sends the rows of a body to a table. */
export const load = ({ server }: Service, table: string, body: string
  | Buffer
  | Readable, { query = '', type = CSV, token = TOKEN, headers = {} }: LoadOptions = {}): Promise<Answer> =>
  server.app.inject({
    method: 'POST',
    url: `/api/shop/${table}${query}`,
    headers: { authorization: `Bearer ${token}`, 'content-type': type, ...headers },
    payload: body
  })
    .then(({ statusCode: status, headers, body: text }) => ({ status, headers, text, json: JSON.parse(text) }))

/** A table `items` with numbers of its own, a unique text and further columns, and a row `old`. */
export const itemsOf = (columns: string) => (engine: EngineName): string[] => [
  `create table items (
    id ${engine === 'sqlite' ? 'integer primary key autoincrement' : 'int auto_increment primary key'},
    sku varchar(20) not null unique, ${columns})`,
  "insert into items (sku) values ('old')"
]

export const countItems = async ({ sql }: Pick<Service, 'sql'>): Promise<number> =>
  Number((await sql('select count(*) as n from items'))[0].n)

/** Lines `s0`, `s1` and so on, with a line for a header before them. */
export const lines = (header: string, count: number, line = (index: number): string | number => `s${index}`): string =>
  [header, ...Array.from({ length: count }, (_, index) => line(index))].join('\n') + '\n'
