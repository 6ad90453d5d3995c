import type { Condition } from '../plan/plan.ts'
import type { Wrapping } from '../types/column-type.ts'
import { isMoment } from '../types/moment.ts'

/** The SQL around the column and the parameters of a condition that compares with a value which a server would change (`ColumnType.outlying`). */
export function findOutlying (condition: Condition): Wrapping | undefined {
  switch (condition.kind) {
    case 'compare':
    case 'in':
    case 'between': {
      const { outlying } = condition.column.type
      if (outlying === undefined) return undefined
      const values = condition.kind === 'compare' ? [condition.parameter] : condition.kind === 'in' ? condition.parameters : [condition.low, condition.high]
      return values.some((value) => value !== null && !isMoment(value) && outlying.includes(value)) ? outlying.wrapping : undefined
    }
    default: return undefined
  }
}
