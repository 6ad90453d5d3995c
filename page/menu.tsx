/** A button that opens a small panel beside it. The browser closes it on Escape and on a click elsewhere. */
import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icons.tsx'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Space to the edges of the window, in pixels. */
const MARGIN = 8

/** As in the style. */
const NARROW = '(max-width: 45rem)'

/** Whether the window is as narrow as that of a phone. */
export function useNarrow (): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches)
  useEffect(() => {
    const query = matchMedia(NARROW)
    const look = (): void => setNarrow(query.matches)
    query.addEventListener('change', look)
    return () => query.removeEventListener('change', look)
  }, [])
  return isNarrow
}

/** `icon`: the button shows only that; `mark`: before its label. `children` get what closes the panel. */
export function Menu ({ label, summary, icon, mark, children }: { label: string, summary?: string | undefined, icon?: IconName | undefined, mark?: IconName | undefined, children: (close: () => void) => ComponentChildren }) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)

  const place = (): void => {
    if (!isOpen || button.current === null || panel.current === null) return
    const { left, bottom, top } = button.current.getBoundingClientRect()
    const { width, height } = panel.current.getBoundingClientRect()
    const fits = bottom + height + MARGIN < innerHeight || top < height
    panel.current.style.left = `${Math.max(MARGIN, Math.min(left, innerWidth - width - MARGIN))}px`
    panel.current.style.top = `${fits ? Math.max(MARGIN, Math.min(bottom + 4, innerHeight - height - MARGIN)) : top - height - 4}px`
  }
  // after each change: what is chosen moves the button
  useLayoutEffect(place)
  // the panel may change alone
  useLayoutEffect(() => {
    if (!isOpen || panel.current === null) return undefined
    const observer = new ResizeObserver(place)
    observer.observe(panel.current)
    return () => observer.disconnect()
  }, [isOpen])

  return (
    <>
      {icon === undefined
        ? <button ref={button} type='button' class='menu' popovertarget={id}>{mark !== undefined && <Icon name={mark} />}<span>{label}</span>{summary !== undefined && <b>{summary}</b>}<Icon name='down' /></button>
        : <button ref={button} type='button' class='quiet icon-button' aria-label={label} title={label} popovertarget={id}><Icon name={icon} /></button>}
      <div ref={panel} id={id} popover='auto' class='panel' role='group' aria-label={label} onToggle={({ newState }) => setOpen(newState === 'open')}>{isOpen && children(() => panel.current?.hidePopover())}</div>
    </>
  )
}
