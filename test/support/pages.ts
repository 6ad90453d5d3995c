/** Reads a table page by page. */
import type { Service } from './service.ts'

export type Body = Record<string, unknown>

/** Reads every page, from the first to the last, and checks that each answer has the form that it must have. */
export async function readPages (
  { post }: Pick<Service, 'post'>, table: string, body: Body
): Promise<Array<Record<string, unknown>>> {
  const rows: Array<Record<string, unknown>> = []
  const limit = body['limit'] as number
  for (let after: unknown = null, pages = 0; ; pages++) {
    const { text, status } = await post(table, { verb: 'select', ...body, after })
    if (status !== 200 || pages > 1000) throw new Error(`${pages}: ${text}`)
    const { data } = JSON.parse(text)
    rows.push(...data.rows)
    if (data.count !== data.rows.length || (data.next !== null && data.count !== limit)) throw new Error(text)
    if (data.next === null) return rows
    after = data.next
  }
}
