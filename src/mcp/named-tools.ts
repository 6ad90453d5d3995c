/** The tools that are named requests. Their arguments are the parameters. */
import type { Grant } from '../access/grant.ts'
import { requestNotFound } from '../errors.ts'
import { readConsistency } from '../http/stream.ts'
import type { NamedRequests } from '../named/call.ts'
import type { NamedRequest } from '../named/definition.ts'
import { readObject } from '../named/parameters.ts'
import { describeRequest, parametersSchema } from '../openapi/named-requests.ts'
import { dataOf } from '../response/result.ts'
import type { Tool, ToolOptions } from './tool.ts'

/** Whether a request may change or remove rows that exist. */
const isDestructive = ({ parts }: NamedRequest): boolean => parts.some(({ body }) => {
  if (body.verb === 'select') return false
  if (body.verb !== 'insert') return true
  const { onConflict } = body
  return onConflict !== undefined && !(Array.isArray(onConflict.set) && onConflict.set.length === 0)
})

/** Without a setting, those that only select. */
export const isEnabled = ({ requests }: Pick<ToolOptions, 'requests'>, { name, isRead }: NamedRequest): boolean =>
  requests === undefined ? isRead : requests === '*' || requests.includes(name)

/** Undefined if the grant may not call it. */
export function findNamedTool (options: ToolOptions, name: string, grant: Grant): Tool | undefined {
  const request = options.named?.find(name, grant)
  return request !== undefined && isEnabled(options, request) ? toTool(request, options, grant) : undefined
}

/** The tools of the requests that the grant may call; by default those that read. */
export function namedTools (options: ToolOptions, grant: Grant): Array<[string, Tool]> {
  return (options.named?.callable(grant) ?? []).filter((request) => isEnabled(options, request))
    .map((request) => [request.name, toTool(request, options, grant)])
}

function toTool (request: NamedRequest, { named, resultLimit }: ToolOptions, caller: Grant): Tool {
  const requests = named as NamedRequests
  return {
    title: request.name,
    description: request.description ?? `The named request ${request.name}.`,
    isReadOnly: request.isRead,
    ...(!request.isRead && { isDestructive: isDestructive(request) }),
    inputSchema: () => {
      const described = describeRequest(request, caller, requests)
      return described && parametersSchema(described)
    },
    async run (args, { grant, consistency: asked, client, record }) {
      const called = requests.find(request.name, grant)
      if (called === undefined) throw requestNotFound(request.name)
      const consistency = readConsistency(called.isRead, asked)
      if (record != null) record.request = called.name
      const values = readObject(called, args)
      const call = { request: called, grant, given: values, consistency, client, record, resultLimit }
      return await requests.run(call, ({ response }) => String(dataOf(response)))
    }
  }
}
