/** The header Accept. */
import t from 'tap'
import { findFormat } from '../../src/http/stream.ts'

t.test('the type that Accept prefers', async (t) => {
  const cases: ReadonlyArray<readonly [accept: string, format: 'csv' | 'ndjson' | undefined]> = [
    ['', undefined], ['text/csv', 'csv'], [' TEXT/CSV ;charset=utf-8', 'csv'],
    ['application/x-ndjson', 'ndjson'], ['text/csvx', undefined],
    ['text/csv;q=0.2, application/x-ndjson;q=0.3', 'ndjson'], ['text/csv;q=0', undefined], ['text/csv;q=', undefined],
    ['text/csv;q=x', undefined], ['text/csv;q=2', undefined], ['text/csv;Q="0.5"', 'csv'],
    ['application/json, text/csv', undefined], ['text/csv, application/json', 'csv'],
    ['application/json;q=0.5, text/csv;q=0.6', 'csv'], ['*/*, text/csv;q=0.1', 'csv'],
    ['text/plain;note="text/csv, text/csv"', undefined], ['text/csv;note="a, b;q=0";q=0.2', 'csv'],
    ['text/csv;note="a\\", text/html;q=0', 'csv'], [',,text/csv,', 'csv'], ['text/csv text/csv', undefined]
  ]
  for (const [accept, format] of cases) t.equal(findFormat(accept), format, accept)
})
