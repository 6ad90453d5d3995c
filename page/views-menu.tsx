/** Views of a table that are kept in this browser by name: filters, order, columns, summaries. */
import { useState } from 'preact/hooks'
import { copy } from './cell.tsx'
import { arrange, type ColumnLayout } from './column-layout.ts'
import { Icon } from './icons.tsx'
import { withMembers, writeLine, type JsonObject } from './json.ts'
import { Empty } from './placeholder.tsx'
import { readKept, writeKept } from './kept.ts'
import { Menu } from './menu.tsx'
import { firstPage } from './order.ts'
import { writeRoute } from './route.ts'
import { isGrouped } from './rows.ts'
import { useStage } from './stage.tsx'
import type { Table } from './table.ts'

interface View { readonly name: string, readonly body: string }

const MAX_VIEWS = 50

interface ViewsMenuProps {
  readonly table: Table
  readonly scope: string
  readonly body: JsonObject
  readonly layout: ColumnLayout
  readonly onView: (body: string) => void
}

export function ViewsMenu ({ table, scope, body, layout, onView }: ViewsMenuProps) {
  const { document, say } = useStage()
  const [views, setViews] = useState<readonly View[]>(() => (readKept(`views of ${scope}`) as View[] | undefined) ?? [])
  const [name, setName] = useState('')
  const keep = (changed: readonly View[]): void => {
    setViews(changed)
    writeKept(`views of ${scope}`, changed.length === 0 ? undefined : changed)
  }
  const save = (): void => {
    const all = table.columns.filter(({ isInvisible }) => isInvisible !== true).map((column) => column.name)
    const isPlain = isGrouped(body) || body['columns'] !== undefined || (layout.order.length === 0 && layout.hidden.length === 0)
    const shown = withMembers(firstPage(body), isPlain ? {} : { columns: arrange(all, layout) })
    keep([...views.filter((view) => view.name !== name.trim()), { name: name.trim(), body: writeLine(shown) }].slice(-MAX_VIEWS))
    setName('')
    say(`The view “${name.trim()}” is kept in this browser`)
  }
  const addressOf = (view: View): string => location.origin + location.pathname + writeRoute({ database: document.name, table: table.name, body: view.body })
  return (
    <Menu label='Views' icon='star'>
      {(close) => (
        <>
          {views.length === 0 && <Empty icon='star' title='No views yet.'><p>A view keeps the filters, the order, the columns and the summary of a table.</p></Empty>}
          {views.map((view) => (
            <p key={view.name} class='view-line'>
              <button type='button' class='item' onClick={() => { close(); onView(view.body) }}><Icon name='star' /><span class='value'>{view.name}</span></button>
              <button type='button' class='quiet' title='The address of this view' onClick={() => { copy(addressOf(view)).then(say) }}>Copy link</button>
              <button type='button' class='quiet' aria-label={`Remove the view ${view.name}`} onClick={() => keep(views.filter((each) => each !== view))}><Icon name='close' /></button>
            </p>
          ))}
          <p class='view-line'>
            <input type='text' aria-label='Name of the view' placeholder='Name this view' maxLength={60} value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} onKeyDown={(event) => { if (event.key === 'Enter' && name.trim() !== '') { event.preventDefault(); save() } }} />
            <button type='button' disabled={name.trim() === ''} onClick={save}>Keep</button>
          </p>
        </>
      )}
    </Menu>
  )
}
