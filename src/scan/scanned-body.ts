import type { InsertBody } from '../../schemas/body.ts'
import type { Table } from '../catalog/catalog.ts'
import type { ScannedRows } from '../dialects/dialect.ts'
import { planRows } from '../plan/insert-rows.ts'
import type { InsertPlan, PlannedRow, RowsPlan } from '../plan/plan.ts'
import { ScannedRowsPlan } from '../plan/scanned-rows.ts'
import { parseBody } from '../request/check-body.ts'

/** What a scan has found. */
export interface Scanned {
  /** With the first row alone. */
  readonly body: InsertBody
  readonly bytes: Buffer
  /** Of that body. */
  readonly plan: InsertPlan & { readonly rows: RowsPlan }
  readonly scanned: ScannedRows
}

/**
 * The valid body of an insert whose list was scanned. `data` is parsed for whoever reads it. What a hook of the host app has read or changed is
 * checked and planned as any other body.
 */
export class ScannedBody {
  readonly #plan: InsertPlan
  readonly #fields: string
  #isRead = false

  constructor ({ body, bytes, plan, scanned }: Scanned) {
    let data: InsertBody['data'] | undefined
    const read = (): InsertBody['data'] => (data ??= (parseBody(bytes.toString()) as InsertBody).data)
    Object.defineProperties(this, Object.getOwnPropertyDescriptors(body))
    Object.defineProperty(this, 'data', {
      enumerable: true,
      get: () => {
        this.#isRead = true
        return read()
      },
      set: (value) => {
        this.#isRead = true
        data = value
      }
    })
    const { table, rows: { rows, conflict } } = plan
    const [first] = rows as [PlannedRow]
    this.#fields = fieldsOf(this)
    this.#plan = Object.freeze({ ...plan, rows: new ScannedRowsPlan({ ...scanned, first }, () => planRows({ ...body, data: read() }, table).rows, conflict) })
  }

  /** Whether nobody has read `data` or changed a field. */
  get isUntouched (): boolean {
    return !this.#isRead && fieldsOf(this) === this.#fields
  }

  /** The plan for the table that was scanned for; undefined if the catalog has another one by now, or the body has been touched. */
  planFor (table: Table): InsertPlan | undefined {
    return this.#plan.table === table && this.isUntouched ? this.#plan : undefined
  }
}

/** The fields as text, without `data`. */
const fieldsOf = (body: object): string => JSON.stringify(Object.keys(body).map((name) => name === 'data' ? name : [name, (body as Record<string, unknown>)[name]]))
