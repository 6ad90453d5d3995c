/** `$has`: which rows have this member of a SET. */
import t from 'tap'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema } from '../support/service.ts'

const members = Array.from({ length: 64 }, (_, index) => `m${index}`)
const schema: Schema = {
  mysql: [
    `create table posts (id int not null primary key, tags set('a','b','A b','ö','x😀') null, wide set(${members.map((name) => `'${name}'`).join(',')}) not null default '', word varchar(10) null)`,
    "insert into posts (id, tags, wide) values (1, 'a', 'm0'), (2, 'a,b', 'm63'), (3, 'b,A b', 'm0,m63'), (4, '', 'm62'), (5, null, 'm31,m32'), (6, 'ö,x😀', '')"
  ],
  sqlite: ['create table posts (id integer primary key, tags text null, word varchar(10) null)', 'insert into posts (id) values (1)']
}

await onEachEngine(t, '$has finds the sets with a member, or with all members of a list', { schema, only: ['mariadb', 'mysql'] }, async (t, { post, operate }) => {
  const ids = async (filters: object): Promise<number[]> => {
    const { json, text } = await post('posts', { verb: 'select', filters, columns: ['id'], orderBy: 'id' })
    return json.data.rows?.map(({ id }: { id: number }) => id) ?? text
  }
  const expected: Array<[filters: object, ids: number[]]> = [
    [{ tags: { $has: 'a' } }, [1, 2]], [{ tags: { $has: ['a'] } }, [1, 2]], [{ tags: { $has: ['a', 'b'] } }, [2]], [{ tags: { $has: ['b', 'a', 'a'] } }, [2]], [{ tags: { $has: 'A b' } }, [3]], [{ tags: { $has: 'ö' } }, [6]], [{ tags: { $has: 'x😀' } }, [6]],
    [{ $not: { tags: { $has: 'a' } } }, [3, 4, 6]], [{ tags: { $has: 'b', $ne: ['a', 'b'] } }, [3]], [{ $or: [{ tags: { $has: ['a', 'A b'] } }, { tags: null }] }, [5]],
    [{ wide: { $has: 'm63' } }, [2, 3]], [{ wide: { $has: ['m0', 'm63'] } }, [3]], [{ wide: { $has: 'm62' } }, [4]], [{ wide: { $has: ['m31', 'm32'] } }, [5]], [{ wide: { $has: members } }, []]
  ]
  for (const [filters, found] of expected) t.same(await ids(filters), found, JSON.stringify(filters))
  t.same((await post('posts', { verb: 'select', groupBy: ['tags'], having: { tags: { $has: 'b' } }, aggregates: { n: { $count: '*', filters: { wide: { $has: 'm63' } } } }, orderBy: 'tags' })).json.data?.rows, [{ tags: ['a', 'b'], n: 1 }, { tags: ['b', 'A b'], n: 1 }])
  t.same((await post('posts', { verb: 'update', filters: { tags: { $has: 'b' } }, data: { word: 'x' } })).json.data, { updated: 2 })
  const { json } = await operate([{ table: 'posts', verb: 'select', filters: { id: 1 } }, { table: 'posts', verb: 'select', filters: { tags: { $has: { $ref: '/0/rows/0/tags/0' } } }, columns: ['id'], orderBy: 'id' }, { table: 'posts', verb: 'select', filters: { tags: { $has: [{ $ref: '/0/rows/0/tags/0' }, 'b'] } }, columns: ['id'] }])
  t.same(json.data.results?.slice(1).map(({ rows }: any) => rows), [[{ id: 1 }, { id: 2 }], [{ id: 2 }]], JSON.stringify(json))
  t.same((await post('posts', { verb: 'delete', filters: { wide: { $has: 'm63' } } })).json.data, { deleted: 2 })
  for (const [operand, path] of [['c', '/filters/tags/$has'], ['B', '/filters/tags/$has'], [['a', 'c'], '/filters/tags/$has/1'], [[], '/filters/tags/$has'], [null, '/filters/tags/$has'], [1, '/filters/tags/$has'], [{}, '/filters/tags/$has'], ['a,b', '/filters/tags/$has'], [[['a']], '/filters/tags/$has/0']] as Array<[unknown, string]>) {
    const why = JSON.stringify(operand)
    const answer = await post('posts', { verb: 'select', filters: { tags: { $has: operand } } })
    isRefusal(t, answer, { status: 400, code: 'INVALID_VALUE', why })
    t.equal(answer.json.error.details[0].path, path, why)
  }
})

await onEachEngine(t, '$has of a column that is no SET is INVALID_VALUE', { schema }, async (t, { post, engine }) => {
  for (const column of ['id', 'word', ...engine === 'sqlite' ? ['tags'] : []]) {
    for (const operand of ['a', ['a']]) isRefusal(t, await post('posts', { verb: 'select', filters: { [column]: { $has: operand } } }), { status: 400, code: 'INVALID_VALUE', why: column })
  }
})
