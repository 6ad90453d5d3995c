import type { CountResult } from './result.ts'
import type { SelectPlan } from '../plan/plan.ts'
import { PageSink } from './page-sink.ts'
import type { AnswerSink } from './sink.ts'

/** Where the next page begins and how many rows there are in all, as members of the answer; empty if the request asked for neither. */
export function pageMembers ({ page, limit }: SelectPlan, { total }: CountResult, sink: AnswerSink): string {
  const members = total === undefined ? '' : `,"total":${total}`
  if (!(sink instanceof PageSink)) return members
  const next = !sink.hasMore ? 'null' : page?.by === 'offset' ? String(page.offset + limit) : sink.position()
  return `,"next":${next}${members}`
}
