; CapMonotone (Appendix A.3). The paper caps deadlines to keep its model finite; we cap them because 64 bits are: lh_after
; saturates at LH_NEVER. That is monotone in both arguments, so a deadline that contains another still does when capped,
; and none moves back (D).
; tools/prove: definitions
(set-logic QF_NIA)
(declare-const t Int)
(declare-const u Int)
(declare-const d Int)
(declare-const e Int)
(assert (and (<= 0 t) (<= t u) (<= u int64-max)))
(assert (and (<= 0 d) (<= d int64-max) (<= 0 e) (<= e int64-max)))

; Claim; and what is capped stays an instant, never before t.
(push 1)
(assert (<= d e))
(assert (not (and (<= (after t d) (after u e)) (<= t (after t d)) (<= (after t d) int64-max))))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: the sum of an unsigned clock wraps (audit finding 8) instead of saturating.
(push 1)
(define-fun wrapping ((a Int) (b Int)) Int (mod (+ a b) (* 2 (+ int64-max 1))))
(define-fun signed ((a Int)) Int (ite (> a int64-max) (- a (* 2 (+ int64-max 1))) a))
(assert (<= d e))
(assert (not (<= (signed (wrapping t d)) (signed (wrapping u e)))))
(set-info :status sat)
(check-sat)
(pop 1)
