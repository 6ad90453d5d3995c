/** The fragment of the address: which table is open, and with which request. Browsers do not send it. */

export interface Route {
  readonly database: string
  /** Empty for the map of the database, for named requests, and for several operations. */
  readonly table: string
  /** Text of a body; the page's own one if undefined. */
  readonly body?: string | undefined
  readonly view?: 'reference' | 'map' | 'call' | undefined
  /** The name of a request, in the view `call`. */
  readonly call?: string | undefined
  /** Text of the filters that select the row which is open. */
  readonly row?: string | undefined
}

/** Longer bodies are not part of the address. */
const MAX_BODY = 4000

export function readRoute (fragment: string): Route | undefined {
  try {
    const [path = '', search = ''] = fragment.replace(/^#/, '').split('?')
    const [, database = '', table] = path.split('/').map(decodeURIComponent)
    const parameters = new URLSearchParams(search)
    const call = parameters.get('call')
    if (table === undefined && call !== null) return { database, table: '', view: 'call', call, body: parameters.get('body') ?? undefined }
    return database === '' ? undefined : { database, table: table ?? '', body: parameters.get('body') ?? undefined, view: table === undefined ? 'map' : parameters.get('view') === 'reference' ? 'reference' : undefined, row: parameters.get('row') ?? undefined }
  } catch { // a % that begins no character
    return undefined
  }
}

export function writeRoute ({ database, table, body, view, row, call }: Route): string {
  if (view === 'map') return `#/${encodeURIComponent(database)}`
  const parameters = new URLSearchParams({ ...view === 'call' ? { call: call ?? '' } : view !== undefined && { view }, ...body !== undefined && body.length <= MAX_BODY && { body }, ...row !== undefined && row.length <= MAX_BODY && { row } })
  return `#/${encodeURIComponent(database)}${view === 'call' ? '' : `/${encodeURIComponent(table)}`}${parameters.size > 0 ? `?${parameters.toString()}` : ''}`
}

/** Whether the fragment of an address names this route. */
export const isOf = (fragment: string, route: Route): boolean => JSON.stringify(readRoute(fragment)) === JSON.stringify(readRoute(writeRoute(route)))
