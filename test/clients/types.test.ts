// night: runs tools and clients of other projects
/** `row-query types`: interfaces that Kysely takes, and that type requests without HTTP. */
import t from 'tap'
import { createWorkshop } from '../support/programs.ts'
import { runRowQuery } from '../support/row-query.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const odd = (quote: string): string[] => [
  `create table ${quote}it's a "table"${quote} (${quote}a b${quote} int not null primary key, ${quote}c'd${quote} varchar(5) null, ${quote}__proto__${quote} int null)`,
  `create table ${quote}Array${quote} (id int not null primary key)`,
  `create table ${quote}Column${quote} (id int not null primary key)`
]

/** The shop, and tables whose names are no identifiers or those of the generated types. */
const schema = (engine: EngineName): string[] => engine === 'sqlite'
  ? [...shop.sqlite, ...odd('"').slice(1)]
  : [...shop.mysql, ...odd('`'), "create table marks (id int not null primary key, s set('a', 'b''c') null, j json not null, p point null, e enum('x', 'y') null, b bit(1) null, t tinyint unsigned null, v varchar(5) not null comment 'a */ b\\nc') comment 'what */ it is'"]

await onEachEngine(t, 'the interfaces of a database fit Kysely and type requests in process', { schema }, async (t, { url, engine }) => {
  const config = `${t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } } }) })}/row-query.json`
  const { code, stdout, stderr } = await runRowQuery(t, ['types', 'shop', '--config', config])
  t.same({ code, stderr }, { code: 0, stderr: '' })
  t.equal((await runRowQuery(t, ['types', '--config', config])).stdout, stdout, 'the only database need not be named')
  const workshop = createWorkshop(t)
  workshop.write('shop.ts', stdout)
  workshop.add('kysely.ts')
  workshop.add('in-process.ts')
  workshop.add('client.ts')
  t.equal(await workshop.compile({ emit: false }), '', 'programs with them compile under strict, and every mistake in them is one')
  t.match(stdout, `  status: Column<${engine === 'sqlite' ? 'string, string' : "'new' | 'old', 'new' | 'old'"} | undefined, `)
  t.match(stdout, /^ {2}note: Column<string \| null, string \| null \| undefined, string \| null>$/m)
  t.match(stdout, /^ {2}login: Column<string \| null, never, never>$/m, 'a generated column')

  // unusual names
  t.match(stdout, 'Array: Array2\n')
  t.match(stdout, 'Column: Column2\n')
  if (engine === 'sqlite') return
  t.match(stdout, "  'it\\'s a \"table\"': ItSATable\n")
  for (const line of [
    '/** what *\\/ it is */', '/** a *\\/ b c */', "s: Column<Array<'a' | 'b\\'c'> | null, ", 'j: Column<Json, Json, Json>', "p: Column<{ type: 'Point', [member: string]: unknown } | null, ",
    'b: Column<boolean | null, ', "e: Column<'x' | 'y' | null, ", 't: Column<number | null, '
  ]) t.match(stdout, line)
})
