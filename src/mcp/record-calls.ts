import { RequestRecord, type Collector } from '../telemetry/record.ts'
import type { Tools } from './tools.ts'

export interface RecordCalls {
  readonly collectors: readonly Collector[]
  readonly requestLog: boolean
  readonly tracing: boolean
}

const OK = 200

/** Records each call of a tool if there is no HTTP request that has a record. */
export function recordCalls (tools: Tools, { collectors, requestLog, tracing }: RecordCalls): Tools {
  return {
    ...tools,
    async call (name, args, caller) {
      const record = new RequestRecord(requestLog, tracing)
      const grant = caller.grant
      const noted = (): ReturnType<typeof grant> => {
        const found = grant()
        record.token = found.name
        return found
      }
      try {
        return await tools.call(name, args, { ...caller, record, grant: noted })
      } finally {
        record.end()
        record.requestId = caller.requestId
        record.status = record.refusal?.statusCode ?? OK
        for (const collector of collectors) if (collector.accepts(record.refusal)) collector.collect(record)
      }
    }
  }
}
