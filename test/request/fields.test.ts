/**
 * What the row of a field says of places and of other fields is about places that it is in and fields that are there.
 */
import t from 'tap'
import { type Field, FIELDS, fieldsIn, type BodyPart } from '../../schemas/fields.ts'

/** The places whose fields a body of this place has. */
const ofBody = (place: BodyPart): BodyPart[] => place === 'selectInTransaction' ? [place, 'select'] : [place]

for (const [name, { in: places, excludes = {}, requires = {}, withList = {}, needs = {}, ...row }] of
  Object.entries<Field>(FIELDS)) {
  t.test(name, async (t) => {
    for (const [place, others] of [
      ...Object.entries(requires).map(([place, { oneOf }]) => [place, oneOf] as const),
      ...Object.entries(withList).map(([place, { field }]) => [place, [field]] as const)
    ] as ReadonlyArray<readonly [BodyPart, readonly string[]]>) {
      t.ok(places[place], place)
      t.same(others.filter((each) => !(each in fieldsIn(place)) || each === name), [], `required in ${place}`)
    }
    t.same((row.excludesOfMembers ?? []).filter((each) => !(each in fieldsIn('member'))), [], 'excluded of members')
    for (const [place, names] of Object.entries(excludes) as Array<[BodyPart, string[]]>) {
      t.ok(places[place], place)
      const others = ofBody(place).flatMap((each) => Object.keys(fieldsIn(each)))
      t.same(names.filter((each) => !others.includes(each) || each === name), [], `excluded in ${place}`)
    }
    for (const verb of Object.keys(needs) as BodyPart[]) {
      t.ok(places[verb] ?? (verb === 'select' && places.selectInTransaction), verb)
    }
    if (row.needsAllRows === true || row.isNoPage === true) t.ok(places.select)
  })
}
