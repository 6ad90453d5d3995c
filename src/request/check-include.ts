/** Checks the members of `include`, level by level: their schema, and the combination of their fields. */
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { MAX_INCLUDE, MEMBER_NAME, MemberSchema, type Include, type Member } from '../../schemas/body.ts'
import { at, invalidBody, type Path, type ServiceError } from '../errors.ts'
import { findFunctionError, NOT_OF_AGGREGATES } from './field-combinations.ts'
import { describeMember } from './describe-member.ts'
import { isObject } from '../json/exact-json.ts'
import { withNames } from './fields.ts'
import { findRelatedError } from './related-filters.ts'

const members = TypeCompiler.Compile(withNames(MemberSchema))

/** Returns the first error of an object of members, not thrown. Levels beyond the maximum of the setting are not checked. */
export function findIncludeError (include: Include, path: Path = ['include'], level = 1): ServiceError | undefined {
  if (level > MAX_INCLUDE.levels) return refuse(path, `"include" has more than ${MAX_INCLUDE.levels} levels`)
  for (const [name, member] of Object.entries(include)) {
    const error = findMemberError(name, member, [...path, name], level)
    if (error !== undefined) return error
  }
  return undefined
}

function findMemberError (name: string, member: Member, path: Path, level: number): ServiceError | undefined {
  if (!MEMBER_NAME.test(name)) return refuse(path, 'the name of a member begins with a letter and has 1 to 64 letters, digits and _')
  if (!isObject(member)) return refuse(path, 'a member must be an object, such as {"table": "<table>"}')
  if (!members.Check(member)) return describeMember(member, MemberSchema, path)
  if (member.aggregates !== undefined) {
    const field = NOT_OF_AGGREGATES.find((each) => Object.hasOwn(member, each))
    if (field !== undefined) return refuse([...path, field], `"${field}" is not allowed with "aggregates"`)
    const wrong = findFunctionError(member.aggregates, [...path, 'aggregates'])
    if (wrong !== undefined) return wrong
  }
  const error = findRelatedError(member.filters, [...path, 'filters'])
  return error === undefined && member.include !== undefined ? findIncludeError(member.include, [...path, 'include'], level + 1) : error
}

const refuse = (path: Path, message: string): ServiceError => at(path, invalidBody(message))
