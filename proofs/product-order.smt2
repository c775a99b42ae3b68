; What the other files assert instances of: multiplying by something positive keeps order. Over the reals, and so over the
; integers; solvers find it at once, but do not always find that they need it.
(set-logic QF_NRA)
(declare-const a Real)
(declare-const b Real)
(declare-const d Real)

; Claim.
(push 1)
(assert (> d 0.0))
(assert (not (and (=> (<= a b) (<= (* a d) (* b d))) (=> (< a b) (< (* a d) (* b d))))))
(set-info :status unsat)
(check-sat)
(pop 1)

; Twin: by something at least zero, order is kept but strictness is not.
(push 1)
(assert (>= d 0.0))
(assert (not (=> (< a b) (< (* a d) (* b d)))))
(set-info :status sat)
(check-sat)
(pop 1)
